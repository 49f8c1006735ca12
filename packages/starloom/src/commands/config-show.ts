import { type Origin, pickByOrigin, toReferences } from '@starloom/config';
import { toAnnotatedYaml } from '@starloom/config/annotated-yaml';
import { loadGatewayConfig } from '@starloom/gateway/config';
import type { GlobalOptions } from '../global-options.ts';
import { formatProblem } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';

export async function showConfig(
  terminal: Terminal,
  options: GlobalOptions & { readonly effective?: boolean },
): Promise<void> {
  const { env, cwd } = terminal;
  const loaded = await loadGatewayConfig({ path: options.config, env, cwd, resolveSecrets: false });
  const { file = null, origins, warnings } = loaded;
  for (const warning of warnings) terminal.tell(formatProblem(warning));

  if (options.effective) {
    terminal.print(
      options.json
        ? toJson({ file, value: loaded.value, origins: Object.fromEntries(origins) })
        : toAnnotatedYaml(loaded.value, origins),
    );
    return;
  }
  const value = pickByOrigin(loaded.value, origins, (origin: Origin) => origin.kind === 'file');
  if (file === null) terminal.tell('no starloom.yaml here: built-in defaults (see --effective)');
  terminal.print(options.json ? toJson({ file, value }) : toAnnotatedYaml(value));
}

function toJson(content: Record<string, unknown>): string {
  return JSON.stringify(toReferences(content), null, 2);
}
