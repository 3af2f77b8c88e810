package otlp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pmapi/export/send"
)

// reply takes the body of a reply that is no error, whatever it is.
func reply(header http.Header, body []byte) (rejected int64, message string, err error) {
	if len(body) == 0 || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
		return 0, "", nil
	}
	return parseResponse(body)
}

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
	message = send.Shortened(r.PartialSuccess.ErrorMessage)
	// An int64 is a string, or a number from lenient receivers.
	text := strings.Trim(string(r.PartialSuccess.RejectedDataPoints), `"`)
	if text == "" || text == "null" {
		return 0, message, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, message, fmt.Errorf("otlp: reply: rejectedDataPoints is %s", send.Shortened(text))
	}
	return n, message, nil
}

// parseStatus is the message of the Status in a reply that is an error; "" if it is none.
func parseStatus(body []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(body, &status) != nil {
		return ""
	}
	return status.Message
}
