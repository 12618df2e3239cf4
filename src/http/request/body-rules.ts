import { ASSIGNED_FIELDS } from '../../desired/fields.ts';
import { AppBody, AppChange } from '../../protocol/app.ts';
import { DeviceGroup, DeviceGroupChange } from '../../protocol/device-group.ts';
import type { Kind } from '../../protocol/name.ts';
import type { BodyRule } from './fields.ts';

/** How the fields of one kind of object are read. */
export interface KindRules {
  /** Of a create or a full update. */
  whole: BodyRule;
  /** Of a partial update. */
  partial: BodyRule;
  /** The change that a partial update makes. A group has only one field, so it is replaced. */
  partialOp: 'change' | 'replace';
}

const APP_IGNORED = ASSIGNED_FIELDS.app;
const GROUP_IGNORED = ASSIGNED_FIELDS.device_group;

export const KIND_RULES: Readonly<Record<Kind, KindRules>> = {
  app: {
    whole: { schema: AppBody, ignored: APP_IGNORED, required: ['container_image'] },
    partial: { schema: AppChange, ignored: APP_IGNORED, required: null },
    partialOp: 'change',
  },
  device_group: {
    whole: { schema: DeviceGroup, ignored: GROUP_IGNORED, required: ['apps'] },
    partial: { schema: DeviceGroupChange, ignored: GROUP_IGNORED, required: null },
    partialOp: 'replace',
  },
};
