import { serveMcpStdio } from '../serve/mcp-stdio.ts';
import { readOptions } from '../serve/options.ts';
import { percyBackup } from './percy-backup.ts';

serveMcpStdio(percyBackup, readOptions());
