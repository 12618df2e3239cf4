import { mapValues, type OpenApiDocument } from './document.ts';

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g;

/**
 * Removes unused schemas: each one exists twice, for requests (with `Input` at the end of its name) and for replies, and
 * client generators use them all. Where both say the same, one stays. Also removes `additionalProperties: false` from the
 * schemas of replies.
 */
export function withUsedSchemas(document: OpenApiDocument): OpenApiDocument {
  const { paths, components } = withSharedSchemas(document);
  const used = new Set<string>();
  const visit = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(REFERENCE)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(components.schemas[name]);
    }
  };
  visit([paths, components.responses]);
  const schemas = Object.fromEntries(Object.entries(components.schemas).filter(([name]) => used.has(name)));
  return { ...document, paths, components: { ...components, schemas } };
}

/** Refers to the schema for replies wherever that for requests says the same. */
function withSharedSchemas(document: OpenApiDocument): OpenApiDocument {
  const schemas = mapValues(document.components.schemas, (schema, name) =>
    name.endsWith('Input') ? schema : allowMoreFields(schema),
  );
  /** The text of a schema with everything that it refers to, so that two can be compared. */
  const whole = (schema: object = {}): string =>
    JSON.stringify(schema).replaceAll(REFERENCE, (_text, name) => whole(schemas[name]));
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas } });
  const shared = text.replaceAll(REFERENCE, (reference, input: string) => {
    const name = input.replace(/Input$/, '');
    return whole(schemas[name]) === whole(schemas[input]) ? `"#/components/schemas/${name}"` : reference;
  });
  return JSON.parse(shared);
}

/** Removes the statement that there are no further fields, since clients must accept those that later versions add. */
function allowMoreFields(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (key, value) =>
    key === 'additionalProperties' && value === false ? undefined : value,
  );
}

/** The first whole number that does not fit into 32 bits. */
const LONG = 2 ** 31;

/** Marks integers that can exceed 32 bits, such as ids, which can start as times. Generated clients use 32 bits for others. */
export function withLongNumbers(document: OpenApiDocument): OpenApiDocument {
  return JSON.parse(JSON.stringify(document), (_key, value) =>
    value?.type === 'integer' && value.maximum >= LONG ? { ...value, format: 'int64' } : value,
  );
}
