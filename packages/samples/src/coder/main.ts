import { serveLines } from '../serve/lines.ts';
import { readOptions } from '../serve/options.ts';
import { createCoder } from './coder.ts';

const options = readOptions();
await serveLines(createCoder(options.folder), options);
