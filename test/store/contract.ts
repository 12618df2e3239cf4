import { describe } from 'vitest';
import { applyContract } from './contract/apply.ts';
import { devicesContract } from './contract/devices.ts';
import { historyContract } from './contract/history.ts';
import { idsLoss } from './contract/ids-loss.ts';
import { idsModel } from './contract/ids-model.ts';
import { incidentsContract } from './contract/incidents.ts';
import { operationsContract } from './contract/operations.ts';
import { readsContract } from './contract/reads.ts';
import { reportsContract } from './contract/reports.ts';
import { seedsContract } from './contract/seeds.ts';
import { stateContract } from './contract/state.ts';
import { type OpenStore, withStore } from './contract/support.ts';

/** The tests that every store must pass: each promise of `Store` and its methods has one. */
export function storeContract(name: string, open: OpenStore): void {
  describe(`a store in ${name}`, () => {
    stateContract(open);
    applyContract(open);
    readsContract(open);
    operationsContract(open);
    historyContract(open);
    seedsContract(open);
    reportsContract(open);
    devicesContract(open);
    incidentsContract(open);
    idsModel((body) => withStore(open, body));
    idsLoss((body) => withStore(open, body));
  });
}
