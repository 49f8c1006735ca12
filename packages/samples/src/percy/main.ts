import { serveMcpHttp } from '../serve/mcp-http.ts';
import { readOptions } from '../serve/options.ts';
import { percy } from './percy.ts';

await serveMcpHttp(percy, readOptions());
