package rawconn

import (
	"io"
	"testing"
)

// TestNoSocketCalls checks that the calls for files serve if the kernel lacks those for sockets.
func TestNoSocketCalls(t *testing.T) {
	const none = 1 << 20 // no system call has this number
	for _, p := range pairs(t) {
		t.Run(p.name, func(t *testing.T) {
			s := New(p.near).(*stream)
			s.in.sock, s.out.sock = none, none
			for range 2 {
				if _, err := s.Write([]byte("there")); err != nil {
					t.Fatal(err)
				}
				there := make([]byte, 5)
				if _, err := io.ReadFull(p.far, there); err != nil || string(there) != "there" {
					t.Fatalf("%q, %v", there, err)
				}
				if _, err := p.far.Write([]byte("back")); err != nil {
					t.Fatal(err)
				}
				back := make([]byte, 10)
				if n, err := s.Read(back); err != nil || string(back[:n]) != "back" {
					t.Fatalf("%q, %v", back[:n], err)
				}
			}
			if s.in.sock != 0 || s.out.sock != 0 {
				t.Error("what the kernel does not have is tried again")
			}
		})
	}
}
