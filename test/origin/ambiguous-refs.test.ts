import { expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

it.each(['refs/heads/refs/heads/main', 'refs/tags/refs/heads/main'])(
  'a write gets 409 while origin has %s, which git could confuse with the branch, and works once that is gone',
  async (other) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const write = () => manager.put('/api/v2/apps/web/update', { container_image: 'new:1' });
    await origin.bare.git('update-ref', other, 'refs/heads/main');
    const refused = await write();
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatch(
      /^origin has another ref whose name ends with refs\/heads\/main, .*git ls-remote/,
    );
    await origin.bare.git('update-ref', '-d', other);
    expect((await write()).status).toBe(202);
  },
);
