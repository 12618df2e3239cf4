/** Runs once before all tests: says where the tests of the MongoDB store are. */
export function setup(): void {
  if (process.env['HOLDFAST_TEST_MONGODB_URI'] !== undefined) return;
  process.stdout.write(
    'The tests of the MongoDB store are left out: HOLDFAST_TEST_MONGODB_URI is not set (npm run test:mongo starts a server).\n',
  );
}
