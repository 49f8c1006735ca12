// Answers to requests with an idempotency key: a string of its own per request, which Redis forgets
// by itself. It names the partition's beginning, so that a dropped partition takes it along; one
// that holds nothing else stays for it.

/** Ends the script with the first answer, if there was one and it is still true. */
export const recall = (isTrue: string) => `
local request = KEYS[2] and string.match(ARGV[2], '^%d+ %d+ (.*)')
if KEYS[2] then
  local stored = call('GET', KEYS[2])
  local answer = stored and cmsgpack.unpack(stored)
  if answer and answer.created == P.created and answer['until'] > now then
    if answer.request ~= request then
      save()
      return { 'reused' }
    end
    if ${isTrue} then
      save()
      return answer.reply
    end
  end
end
`;

/** Keeps `reply`; comes before `save`. */
export const REMEMBER = `
if KEYS[2] then
  local answer = { created = P.created, reply = reply, request = request, ['until'] = now + 600000 }
  call('SET', KEYS[2], cmsgpack.pack(answer), 'PX', 600000)
  if P.version == 0 then expect('a', answer['until']) end
end
`;
