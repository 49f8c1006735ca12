// A2A 1.0, by the official SDK: a task with two artifacts, the greeting as it grows and the card.

import {
  AgentCard,
  type Message,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { CARD, draw, greetingOf, say } from '../greeting.ts';
import { serve } from '../serve.ts';

const greeter: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const ids = { taskId, contextId };
    const status = (state: string) => ({ state, timestamp: new Date().toISOString() });
    const task = { id: taskId, contextId, status: status('TASK_STATE_WORKING') };
    bus.publish(AgentEvent.task(Task.fromJSON(task)));
    const greeting = greetingOf(textOf(userMessage), 'A2A');
    const publish = (artifact: object, append: boolean) => {
      const update = TaskArtifactUpdateEvent.fromJSON({ ...ids, artifact, append });
      bus.publish(AgentEvent.artifactUpdate(update));
    };
    let append = false;
    for await (const text of say(greeting)) {
      publish({ artifactId: 'answer', parts: [{ text }] }, append);
      append = true;
    }
    const { name, mediaType } = CARD;
    publish({ artifactId: 'card', name, parts: [{ text: draw(greeting), mediaType }] }, false);
    const done = { ...ids, status: status('TASK_STATE_COMPLETED') };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(done)));
    bus.finished();
  },
  /** Does nothing: the greeting ends by itself a moment later. */
  async cancelTask() {},
};

await serve((url) => {
  const card = AgentCard.fromJSON({
    name: 'Greeter',
    description: 'Greets',
    version: '1.0.0',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain', CARD.mediaType],
    skills: [{ id: 'greet', name: 'Greet', description: 'Greets', tags: ['greeting'] }],
    supportedInterfaces: [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), greeter);
  const userBuilder = UserBuilder.noAuthentication;
  const app = express();
  app.get('/.well-known/agent-card.json', (_, response) => {
    response.json(AgentCard.toJSON(card));
  });
  return app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }));
});

function textOf({ parts: [first] }: Message): string {
  return first?.content?.$case === 'text' ? first.content.value : '';
}
