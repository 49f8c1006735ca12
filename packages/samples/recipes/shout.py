import json, sys

for line in sys.stdin:
    call = json.loads(line).get("envelope")
    if call is None:  # {"cancel": "<span_id>"}: the caller has left
        break
    words = [word.upper() + " " for word in call["input"]["task"].split()]
    for word in words:
        print(json.dumps({"type": "token", "data": {"text": word}}), flush=True)
    print(json.dumps({"type": "final", "data": {"answer": "".join(words).strip()}}), flush=True)
