import packageJson from '../../package.json' with { type: 'json' };

/** The version of this package, as package.json has it. */
export const PRODUCT_VERSION: string = packageJson.version;
