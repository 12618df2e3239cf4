import { expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';

/** A floor for ids comes from the time, so an hour passes after the start. */
async function managerForAnHour(): Promise<TestManager> {
  let passed = 0;
  const now = (): number => Date.now() + passed;
  const manager = await startManager({ files: SMALL_FLEET, settings: { STRICT: 'true' }, now });
  passed = 3_600_000;
  return manager;
}

it('while a branch of another history is refused, a restart gives the next id, and nobody else is said to have written', async () => {
  const manager = await managerForAnHour();
  const { repository } = manager;
  const idOf = async (): Promise<number> => (await manager.get('/api/v2/apps/web')).body.app_id;
  const before = await idOf();
  await repository.git('switch', '--quiet', '--orphan', 'other');
  await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: [\n' }));
  expect((await manager.reconcile()).body.state).toBe('refused');
  expect((await manager.post('/api/v2/apps/web/restart')).status).toBe(202);
  expect(await idOf()).toBe(before + 1);
  await repository.git('switch', '--quiet', '--force', 'main');
  expect((await manager.reconcile()).body.state).toBe('applied');
  expect(await idOf()).toBe(before + 1);
  expect(manager.log.map(({ msg }) => msg)).not.toContain(
    'another manager has changed the store; following it',
  );
});

it('a branch of another history that is accepted after a refusal gives ids above all that were given', async () => {
  const manager = await managerForAnHour();
  const { repository } = manager;
  const before = (await manager.get('/api/v2/apps/web')).body.app_id;
  await repository.git('switch', '--quiet', '--orphan', 'other');
  await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: [\n' }));
  expect((await manager.reconcile()).body.state).toBe('refused');
  await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: nginx:2\n' }));
  const { body } = await manager.reconcile();
  expect([body.state, body.ids_seeded.cause]).toEqual(['applied', 'other-history']);
  expect((await manager.get('/api/v2/apps/web')).body.app_id).toBeGreaterThan(before + 1000);
});
