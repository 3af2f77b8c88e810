// Package hashorder computes the order of a walk through a hash table of the C library.
package hashorder

// Of returns the indexes of keys in the order of the C library's walk through a hash table, if the
// keys were added one after the other. Tools of PCP 6.0.3 list an archive's metrics and instance
// domains in that order.
//
// A table has chains, and a new key becomes the head of one. The table grows with the key that
// makes more than four for each chain. It then moves the chains from the last one to the first one,
// each from its head, to the heads of the new ones.
func Of[K ~uint32](keys []K) []int {
	var chains [][]int // each from its tail to its head
	for n, key := range keys {
		switch {
		case n == 0:
			chains = make([][]int, 1)
		case (n+1)/4 > len(chains):
			chains = grow(chains, keys)
		}
		at := uint32(key) % uint32(len(chains))
		chains[at] = append(chains[at], n)
	}
	order := make([]int, 0, len(keys))
	for _, chain := range chains {
		for i := len(chain) - 1; i >= 0; i-- {
			order = append(order, chain[i])
		}
	}
	return order
}

// grow moves the keys of chains to about twice as many: 1, 6, 14, 30, 60, 120, …
func grow[K ~uint32](chains [][]int, keys []K) [][]int {
	size := 2 * len(chains)
	if size%3 != 0 {
		size += 2
	}
	if size%5 != 0 {
		size += 2
	}
	grown := make([][]int, size)
	for c := len(chains) - 1; c >= 0; c-- {
		for i := len(chains[c]) - 1; i >= 0; i-- {
			n := chains[c][i]
			at := uint32(keys[n]) % uint32(size)
			grown[at] = append(grown[at], n)
		}
	}
	return grown
}
