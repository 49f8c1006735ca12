import { serveHttp } from '../serve/http.ts';
import { readOptions } from '../serve/options.ts';
import { createLibrarian } from './librarian.ts';

const options = readOptions();
await serveHttp(createLibrarian(options.folder), options);
