package means

import "time"

// Patience is after how long a test calls something hung, or stuck in what it
// should not have waited for: no test asserts less, for machines that run
// tests are slow now and then. What must not be waited for takes longer.
const Patience = 40 * time.Second
