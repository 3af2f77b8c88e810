package sample

// rand48 is the generator of lrand48(3) as a program has it that does not seed it. All random
// values of the agent come from one, in the order of the requests, so that they are the same as
// those of PCP's agent after the same requests, but for the instances of mirage.
type rand48 uint64

// next is a number from 0 to n-1. Not all are equally likely, but that does not matter here.
func (r *rand48) next(n int32) int32 {
	*r = (*r*0x5deece66d + 0xb) & (1<<48 - 1)
	return int32(*r>>17) % n
}
