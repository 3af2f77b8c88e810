package pmdalinux

// addInterrupts adds the metrics of interrupts, soft interrupts, pressure, users.
func (l *linux) addInterrupts() {}
