package notify

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "changes", "What changed on a host, as fettle check --notify posts it to a webhook.", Message{})
}
