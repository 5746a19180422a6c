package cachesim

// ring is work in the order in which it will be done.
type ring struct {
	at       []int64
	entry    []int32
	first, n int
}

func (r *ring) push(e int32, at int64) {
	if r.n == len(r.at) {
		size := max(16, 2*r.n)
		nat, ne := make([]int64, size), make([]int32, size)
		for i := range r.n {
			j := (r.first + i) & (len(r.at) - 1)
			nat[i], ne[i] = r.at[j], r.entry[j]
		}
		r.at, r.entry, r.first = nat, ne, 0
	}
	mask := len(r.at) - 1
	// Work of one kind takes the same time, but for writes of whole blocks.
	i := r.n
	for ; i > 0 && r.at[(r.first+i-1)&mask] > at; i-- {
		j, k := (r.first+i)&mask, (r.first+i-1)&mask
		r.at[j], r.entry[j] = r.at[k], r.entry[k]
	}
	r.at[(r.first+i)&mask], r.entry[(r.first+i)&mask] = at, e
	r.n++
}

func (r *ring) pop() int32 {
	e := r.entry[r.first]
	r.first = (r.first + 1) & (len(r.at) - 1)
	r.n--
	return e
}
