package pmdalinux

// addMemory adds the metrics of memory and swap.
func (l *linux) addMemory() {}
