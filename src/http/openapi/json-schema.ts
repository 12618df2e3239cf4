import * as z from 'zod';

/** Which form of a schema: what a request may send, or what a reply has. */
type Direction = 'input' | 'output';

/** The schemas of a document as JSON Schema. */
export interface SchemaWriter {
  /** Returns the JSON Schema of a schema: a reference if it has an id. */
  write(schema: z.ZodType, direction: Direction): object;
  /** Returns the schemas that were referred to, by name: the id, with `Input` at its end for those of requests. */
  components(): Record<string, object>;
}

export function createSchemaWriter(): SchemaWriter {
  const components: Record<string, object> = {};
  const write = (schema: z.ZodType, direction: Direction): object => {
    const suffix = direction === 'input' ? 'Input' : '';
    // A schema that has an id is a reference only inside of another one.
    const whole = z.toJSONSchema(z.object({ schema }), { io: direction, unrepresentable: 'any' });
    const text = JSON.stringify({ ...whole.$defs, '': whole.properties?.['schema'] });
    const written: Record<string, object> = JSON.parse(
      text.replaceAll(/"\$ref":"#\/\$defs\/([^"]+)"/g, `"$ref":"#/components/schemas/$1${suffix}"`),
    );
    for (const [id, { id: _, ...definition }] of Object.entries(written as Record<string, { id?: string }>))
      if (id !== '') components[`${id}${suffix}`] = definition;
    return written[''] ?? {};
  };
  /** A schema of requests alone needs no `Input` at its end, unless the two forms differ. */
  const both = () =>
    Object.fromEntries(
      Object.entries(components).map(([name, schema]) => [name.replace(/Input$/, ''), schema]),
    );
  return { write, components: () => ({ ...both(), ...components }) };
}
