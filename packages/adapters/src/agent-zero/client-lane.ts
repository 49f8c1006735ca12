import type { HttpClient } from '../http/http-client.ts';
import type { AgentZeroOptions } from './options.ts';

/** An interface over plain requests: it holds nothing that is to be closed. */
export abstract class ClientLane {
  protected readonly client: HttpClient;
  protected readonly options: AgentZeroOptions;

  constructor(client: HttpClient, options: AgentZeroOptions) {
    this.client = client;
    this.options = options;
  }

  async close(): Promise<void> {}
}
