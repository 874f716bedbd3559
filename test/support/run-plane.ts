// A process that a test may kill: starts a plane from the programs that its argument names, and says where it is.
import { Plane } from './plane/plane.ts';

const plane = await Plane.start(JSON.parse(process.argv[2] ?? ''));
console.log(JSON.stringify(plane.address));
// Stays until it is killed.
setInterval(() => undefined, 60_000);
