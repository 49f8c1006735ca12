import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';

/** A response whose reader takes nothing unless it is asked to. */
export class FakeResponse extends PassThrough {
  headersSent = false;
  status: number | undefined;
  headers: Record<string, unknown> = {};

  constructor() {
    super({ highWaterMark: 256 });
  }

  writeHead(status: number, headers: Record<string, unknown>): this {
    this.headersSent = true;
    this.status = status;
    this.headers = headers;
    return this;
  }

  flushHeaders(): void {}

  get asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }

  /** The client closes the connection. */
  async leave(): Promise<void> {
    const closed = once(this, 'close');
    this.destroy();
    await closed;
  }

  /** Everything that was not read yet; since Node 26 one read is one chunk. */
  get text(): string {
    let text = '';
    for (let chunk = this.read(); chunk !== null; chunk = this.read()) text += String(chunk);
    return text;
  }
}
