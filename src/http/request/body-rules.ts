import { DESCRIPTORS } from '../../desired/kinds.ts';
import type { Kind } from '../../protocol/name.ts';
import type { BodyRule } from './fields.ts';

/** How the fields of one kind of object are read: of a create or a full update, and of a partial update. */
export function bodyRules(kind: Kind): Readonly<Record<'whole' | 'partial', BodyRule>> {
  const { schemas, assigned: ignored, required } = DESCRIPTORS[kind];
  return {
    whole: { schema: schemas.body, ignored, required: required === null ? [] : [required] },
    partial: { schema: schemas.change, ignored, required: null },
  };
}
