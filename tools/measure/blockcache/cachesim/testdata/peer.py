"""Miss counts and speed of libCacheSim's policies over an oracleGeneral trace.

usage: peer.py TRACE POLICY|all SIZE...
Prints one line a run: policy, size, requests, misses, seconds of CPU time.
"""
import sys
import time

import libcachesim as lcs

POLICIES = {
    "lru": lcs.LRU,
    "lfu": lcs.LFU,
    "arc": lcs.ARC,
    "2q": lcs.TwoQ,
    "s3fifo": lcs.S3FIFO,
    "sieve": lcs.Sieve,
    "belady": lcs.Belady,
}

trace, wanted, sizes = sys.argv[1], sys.argv[2], [int(s) for s in sys.argv[3:]]
params = lcs.ReaderInitParam()
params.ignore_obj_size = True
for name, policy in POLICIES.items():
    for size in sizes if wanted in ("all", name) else []:
        reader = lcs.TraceReader(trace, lcs.TraceType.ORACLE_GENERAL_TRACE, params)
        n = reader.get_num_of_req()
        reader.reset()
        cache = policy(cache_size=size)
        start = time.process_time()
        miss, _ = cache.process_trace(reader)
        print(name, size, n, round(miss * n), time.process_time() - start, flush=True)
