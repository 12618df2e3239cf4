import * as z from 'zod';

const LastChange = z
  .object({ at: z.iso.datetime(), actor: z.string(), revision: z.string().nullable() })
  .meta({ id: 'LastChange' });

const shared = {
  devices: z.int(),
  current: z.int(),
  behind: z.int(),
  failed: z.int(),
  silent: z.int(),
  problem: z.boolean().describe('Whether its file has a problem.'),
  last_change: LastChange.nullable().describe('Null while the history does not have it.'),
};

/** An app in the inventory. */
export const InventoryApp = z
  .object({
    name: z.string(),
    container_image: z.string(),
    running: z.boolean(),
    groups: z.int().describe('How many device groups list it.'),
    ...shared,
  })
  .meta({ id: 'InventoryApp' });
export type InventoryApp = z.infer<typeof InventoryApp>;

export const InventoryAppPage = z
  .object({ apps: z.array(InventoryApp), next: z.string().nullable(), total: z.int() })
  .meta({ id: 'InventoryAppPage' });
export type InventoryAppPage = z.infer<typeof InventoryAppPage>;

/** A device group in the inventory. */
export const InventoryGroup = z
  .object({ name: z.string(), apps: z.int(), prune_id: z.int(), ...shared })
  .meta({ id: 'InventoryDeviceGroup' });
export type InventoryGroup = z.infer<typeof InventoryGroup>;

export const InventoryGroupPage = z
  .object({ device_groups: z.array(InventoryGroup), next: z.string().nullable(), total: z.int() })
  .meta({ id: 'InventoryDeviceGroupPage' });
export type InventoryGroupPage = z.infer<typeof InventoryGroupPage>;

export const INVENTORY_STATES = ['running', 'stopped', 'held_back', 'failing'] as const;
export type InventoryState = (typeof INVENTORY_STATES)[number];

export const INVENTORY_SORTS = ['name', 'last_change', 'behind', '-name', '-last_change', '-behind'] as const;
export type InventorySort = (typeof INVENTORY_SORTS)[number];
