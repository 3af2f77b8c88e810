package trace_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/trace"
)

func TestErrorTexts(t *testing.T) {
	for code, want := range map[trace.Error]string{
		0:        "No error.",
		-111:     "Connection refused",
		-11999:   "Unknown error 11999",
		-12000:   "Invalid tag name - tag names cannot be NULL",
		-12001:   "Transaction is already in progress - cannot begin",
		-12002:   "Transaction is not currently in progress - cannot end",
		-12003:   "Transaction tag was not successfully initialised",
		-12004:   "Tag is already in use for a different type of tracing",
		-12005:   "Tag name is too long (maximum 256 characters)",
		-12006:   "IPC protocol failure",
		-12007:   "Unrecognised environment variable format",
		-12008:   "Application timed out connecting to the PMDA",
		-12009:   "Incompatible versions between application and PMDA",
		-12010:   "Cannot connect to PMDA - permission denied",
		-12011:   "Cannot connect to PMDA - connection limit reached",
		-12012:   "Unknown error code.",
		-1 << 31: "Unknown error code.",
		1:        "Unknown error code.",
		28:       "Unknown error code.",
	} {
		if got := code.Error(); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}

func TestErrorIs(t *testing.T) {
	err := fmt.Errorf("connect: %w", trace.Error(-111))
	if !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, trace.ErrIPC) {
		t.Errorf("%v is not ECONNREFUSED alone", err)
	}
	err = fmt.Errorf("send: %w", trace.ErrTimeout)
	if e, ok := errors.AsType[trace.Error](err); !ok || !e.Timeout() || e.Unwrap() != nil {
		t.Errorf("%v: %v, %v", err, e, ok)
	}
}
