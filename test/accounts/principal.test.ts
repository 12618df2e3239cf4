import { describe, expect, it } from 'vitest';
import { type Action, asDevice, authorize, type Role } from '../../src/accounts/principal.ts';

const ACTIONS: Action[] = ['read', 'operate', 'edit', 'poll', 'report', 'notify'];

describe('authorize', () => {
  it.each<[Role, Action[]]>([
    ['viewer', ['read', 'poll']],
    ['operator', ['read', 'operate', 'poll', 'notify']],
    ['editor', ['read', 'operate', 'edit', 'poll', 'notify']],
    ['admin', ACTIONS],
    ['device', ['poll', 'report']],
    ['webhook', ['notify']],
  ])('lets the role %s do %j, and nothing else', (role, allowed) => {
    const principal = { name: 'pat', email: 'pat@example.com', roles: [role] };
    expect(ACTIONS.filter((action) => authorize(principal, action, []))).toEqual(allowed);
  });

  it('lets somebody without a role do nothing', () => {
    const principal = { name: 'pat', email: 'pat@example.com', roles: [] };
    expect(ACTIONS.filter((action) => authorize(principal, action, []))).toEqual([]);
  });
});

describe('asDevice', () => {
  const shared = { name: 'devices', email: 'devices@example.com', roles: ['device'] } as const;

  it('makes an account that devices share the device of that name', () => {
    expect(asDevice(shared, 'pos-1')).toEqual({ ...shared, device: 'pos-1' });
  });

  it.each([[undefined], [''], ['-pos'], ['pos 1'], ['pos-1, pos-2'], ['a'.repeat(129)]])(
    'ignores what is no name: %s',
    (name) => {
      expect(asDevice(shared, name)).toEqual(shared);
    },
  );
});
