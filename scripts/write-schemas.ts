import { writeFile } from 'node:fs/promises';
import { SCHEMA_FILES } from '../src/desired/json-schema.ts';

/** Writes the JSON Schemas for editors from the schemas that the manager itself uses. */
for (const [file, text] of Object.entries(SCHEMA_FILES)) {
  await writeFile(new URL(`../schemas/${file}`, import.meta.url), text);
}
