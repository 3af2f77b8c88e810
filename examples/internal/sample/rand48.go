package sample

// rand48 is the generator of lrand48(3) with the initial seed. All random values of the agent
// except the instances of mirage come from one generator in the order of the requests, so that they
// equal those of PCP's agent after the same requests.
type rand48 uint64

// next returns a number from 0 to n-1. The numbers are not equally likely, which does not matter
// here.
func (r *rand48) next(n int32) int32 {
	*r = (*r*0x5deece66d + 0xb) & (1<<48 - 1)
	return int32(*r>>17) % n
}
