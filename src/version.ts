import packageJson from '../package.json' with { type: 'json' };

/** The version in package.json. */
export const PRODUCT_VERSION: string = packageJson.version;
