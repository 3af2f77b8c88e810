package otlp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// maxResponse is how much of a reply is read.
const maxResponse = 4 << 20

// maxText is how much is kept of what a receiver says.
const maxText = 1024

// parseResponse parses an ExportMetricsServiceResponse: how many points were rejected, and why. Rejected is not negative.
func parseResponse(body []byte) (rejected int64, message string, err error) {
	var r struct {
		PartialSuccess struct {
			RejectedDataPoints json.RawMessage
			ErrorMessage       string
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return 0, "", fmt.Errorf("otlp: reply: %w", err)
	}
	message = shortened(r.PartialSuccess.ErrorMessage)
	// An int64 is a string, or a number from lenient receivers.
	text := strings.Trim(string(r.PartialSuccess.RejectedDataPoints), `"`)
	if text == "" || text == "null" {
		return 0, message, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, message, fmt.Errorf("otlp: reply: rejectedDataPoints is %s", shortened(text))
	}
	return n, message, nil
}

// parseStatus is the message of the Status in a reply that is an error; "" if it is none.
func parseStatus(body []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(body, &status) != nil {
		return ""
	}
	return shortened(status.Message)
}

func shortened(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return s
}
