import { Argument, type Command } from 'commander';
import { withExamples } from '../command-line.ts';
import type { Terminal } from '../terminal.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['source <(starloom completion bash)', 'in ~/.bashrc'],
    ['source <(starloom completion zsh)', 'in ~/.zshrc'],
    ['starloom completion fish | source', 'in config.fish'],
  ])
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell) => {
      const words = wordsOf(command.parent ?? command, []);
      terminal.print(shell === 'fish' ? fish(words) : bash(words, shell === 'zsh'));
    });
}

/** After these words come those. */
interface Words {
  readonly path: string;
  readonly next: readonly { readonly word: string; readonly about: string }[];
}

function wordsOf(command: Command, path: readonly string[]): readonly Words[] {
  const below = command.commands.filter((one) => one.name() !== 'help');
  const options = command.options.flatMap(({ long, description }) =>
    long ? [{ word: long, about: description }] : [],
  );
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) =>
    argChoices.map((word) => ({ word, about: '' })),
  );
  const names = below.map((one) => ({ word: one.name(), about: one.description() }));
  return [
    { path: path.join(' '), next: [...names, ...choices, ...options] },
    ...below.flatMap((one) => wordsOf(one, [...path, one.name()])),
  ];
}

function bash(all: readonly Words[], isZsh: boolean): string {
  const rows = all.map(
    ({ path, next }) => `    '${path}') words='${next.map(({ word }) => word).join(' ')}' ;;`,
  );
  return [
    ...(isZsh ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_starloom() {',
    '  local path="" words="" word',
    `  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do`,
    `    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac`,
    '  done',
    '  case "$path" in',
    ...rows,
    '  esac',
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    'complete -o default -F _starloom starloom',
  ].join('\n');
}

function fish(all: readonly Words[]): string {
  const quote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  return [
    'function __starloom_at',
    "  set -l words (commandline -opc | string match -v -- '-*')",
    '  test "$words[2..-1]" = "$argv[1]"',
    'end',
    'complete -c starloom -f',
    ...all.flatMap(({ path, next }) =>
      next.map(({ word, about }) => {
        const kind = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${quote(word)}`;
        const when = quote(`__starloom_at "${path}"`);
        return `complete -c starloom -n ${when} ${kind} -d ${quote(about)}`;
      }),
    ),
  ].join('\n');
}
