// Kinds of phrases by which a text speaks to a model instead of to a reader: a note for the person who
// approves a call, never a verdict. A kind is a few groups of words that stand close together, in any
// order; the text is read once, word by word.

interface PhraseKind {
  readonly name: string;
  /** One word of each group. */
  readonly groups: readonly string[];
  /** Within this many words. */
  readonly within: number;
}

const KINDS: readonly PhraseKind[] = [
  {
    name: 'override',
    within: 9,
    groups: [
      'ignore ignoring disregard forget override overrides overriding bypass supersede supersedes discard drop cancel ' +
        'ignoriere ignorieren vergiss ignorez ignorer oublie oubliez ignora ignorar olvida olvide esqueca dimentica',
      'previous prior above earlier preceding all any existing original former current your ' +
        'vorherigen bisherigen alle precedentes anteriores todas precedenti',
      'instructions instruction rules guidelines directives directive orders prompt prompts policy policies guardrails task ' +
        'anweisungen regeln consignes instrucciones reglas instrucoes istruzioni',
    ],
  },
  {
    name: 'conceal',
    within: 8,
    groups: [
      'not never without dont avoid nicht ne no',
      'tell telling mention mentioning inform informing notify notifying reveal ask asking show showing disclose alert report',
      'user users human humans operator person people owner anyone anybody them benutzer utilisateur usuario',
    ],
  },
  {
    name: 'addresses-model',
    within: 7,
    groups: [
      'ai assistant assistants agent agents llm llms chatbot bot copilot model models',
      'must should shall please required need needs instructed mandatory immediately first important attention note',
      'you your run call invoke execute use send fetch read open include append write delete follow perform complete',
    ],
  },
  {
    name: 'send-secrets',
    within: 14,
    groups: [
      'send post upload forward email mail transmit exfiltrate leak append include attach paste pass copy submit share report',
      'key keys token tokens secret secrets password passwords credential credentials env ssh cookie cookies passphrase',
      'to at into with http https via as in',
    ],
  },
];

const MARKER =
  /<\|?(?:im_start|im_end|system|endoftext|start_header_id)\|?>|\[\/?(?:INST|SYSTEM|SYS)\]|<<SYS>>|^[\s#*>/<!-]{0,12}(?:system|developer|assistant|admin)(?:[ _-](?:message|prompt|note|notice|override|update|instruction))?\s{0,3}:/im;

const UNSPACED = [
  '忽略之前',
  '忽略以上',
  '忽略所有',
  '无视之前',
  '不要告诉用户',
  '你现在是',
  '忽視先前',
  '以前の指示',
  '指示を無視',
  '無視してください',
  '이전 지시',
  '지시를 무시',
  'игнорируй',
  'игнорируйте',
  'не сообщай',
];

/** Cyrillic and Greek letters that look Latin. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  а: 'a',
  е: 'e',
  о: 'o',
  р: 'p',
  с: 'c',
  у: 'y',
  х: 'x',
  і: 'i',
  ѕ: 's',
  ј: 'j',
  ԁ: 'd',
  ɡ: 'g',
  ο: 'o',
  α: 'a',
  ν: 'v',
  ι: 'i',
  ρ: 'p',
  τ: 't',
};

const SLOTS = slotsByWord();
const LONGEST_WORD = Math.max(...Array.from(SLOTS.keys(), (word) => word.length));
const NEVER = Number.NEGATIVE_INFINITY;

export function instructionPhrases(text: string): string[] {
  const found = new Set<string>();
  if (MARKER.test(text)) found.add('speaks-as-system');
  const plain = toPlain(text);
  if (
    !isAscii(text) &&
    UNSPACED.some((phrase) => text.normalize('NFKC').toLowerCase().includes(phrase))
  ) {
    found.add('override');
  }
  const seen = KINDS.map(({ groups }) => groups.map(() => NEVER));
  forEachWord(plain, (word, position) => {
    for (const [kindIndex, group] of SLOTS.get(word) ?? []) {
      const kind = KINDS[kindIndex];
      const last = seen[kindIndex];
      if (!kind || !last) continue;
      last[group] = position;
      if (position - Math.min(...last) < kind.within) found.add(kind.name);
    }
  });
  return [...found];
}

/** Without marks and in lower case, in this order: some capitals only appear in the plain form. */
function toPlain(text: string): string {
  const lettersOnly = isAscii(text) ? text : text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const lower = lettersOnly.toLowerCase().replaceAll(/['’]/g, '');
  if (isAscii(lower)) return lower;
  return lower.replaceAll(/[^\n -~]/gu, (letter) => LOOK_ALIKES[letter] ?? letter);
}

function isAscii(text: string): boolean {
  return !/[^\n\r\t -~]/.test(text);
}

function forEachWord(text: string, visit: (word: string, position: number) => void): void {
  let start = -1;
  let position = 0;
  for (let index = 0; index <= text.length; index += 1) {
    const code = index < text.length ? text.charCodeAt(index) : 0;
    const isLetter = code >= 97 && code <= 122;
    if (isLetter && start < 0) start = index;
    if (isLetter || start < 0) continue;
    position += 1;
    if (index - start <= LONGEST_WORD) visit(text.slice(start, index), position);
    start = -1;
  }
}

function slotsByWord(): ReadonlyMap<string, readonly (readonly [kind: number, group: number])[]> {
  const slots = new Map<string, [number, number][]>();
  for (const [kindIndex, { groups }] of KINDS.entries()) {
    for (const [groupIndex, group] of groups.entries()) {
      for (const word of group.split(' ')) {
        slots.set(word, [...(slots.get(word) ?? []), [kindIndex, groupIndex]]);
      }
    }
  }
  return slots;
}
