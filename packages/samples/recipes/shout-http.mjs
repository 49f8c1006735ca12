import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

createServer(async (request, response) => {
  if (request.url === '/shout/health') return response.end();
  const envelope = await json(request);
  const words = envelope.input.task.toUpperCase().split(/(?<=\s)/);
  const answer = words.join('');
  if (!envelope.response.stream) {
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ answer }));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type, data) => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, data })}\n\n`);
  };
  for (const text of words) {
    if (response.destroyed) return; // the caller has left
    send('token', { text });
  }
  send('final', { answer });
  response.end();
}).listen(process.env.PORT, '127.0.0.1');
