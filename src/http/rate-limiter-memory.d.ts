// The one limiter of rate-limiter-flexible that is used: its index would load those for every database there is.
declare module 'rate-limiter-flexible/lib/RateLimiterMemory.js' {
  import { RateLimiterMemory } from 'rate-limiter-flexible';
  // biome-ignore lint/style/noDefaultExport: this is how the library exports it
  export default RateLimiterMemory;
}

declare module 'rate-limiter-flexible/lib/RateLimiterRes.js' {
  import { RateLimiterRes } from 'rate-limiter-flexible';
  // biome-ignore lint/style/noDefaultExport: this is how the library exports it
  export default RateLimiterRes;
}
