/** Returns the seed of this run, which is printed when it begins. */
export function seedOfRun(): number {
  const seed = Number(process.env['HOLDFAST_TEST_SEED']);
  if (!Number.isInteger(seed)) throw new Error('HOLDFAST_TEST_SEED has to be a whole number');
  return seed;
}

/** Returns a function that returns numbers from 0 to below 1, the same ones in each run with the same seed. */
export function randomNumbers(): () => number {
  let state = seedOfRun();
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
