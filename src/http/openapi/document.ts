/** An OpenAPI document, reduced to the parts that are changed here. */
export interface OpenApiDocument {
  components: {
    schemas: Readonly<Record<string, object>>;
    responses?: Readonly<Record<string, object>>;
  };
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Operation {
  operationId: string;
  parameters?: readonly object[];
  /** Empty if no credentials are needed. */
  security?: readonly object[];
  responses: Readonly<Record<string, ResponseSpec>>;
}

export interface ResponseSpec {
  content?: Readonly<Record<string, { schema?: { $ref?: string } }>>;
}

/** Changes every operation. */
export function mapOperations(
  document: OpenApiDocument,
  change: (operation: Operation, path: string) => Operation,
): OpenApiDocument {
  const paths = mapValues(document.paths, (operations, path) =>
    mapValues(operations, (operation) => change(operation, path)),
  );
  return { ...document, paths };
}

export function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}
