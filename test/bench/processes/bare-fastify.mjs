import Fastify from 'fastify';

/** The smallest Fastify server: one route. */
const app = Fastify();
app.get('/', async () => ({ hello: 'world' }));
const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`listening at ${address}\n`);
