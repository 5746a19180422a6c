package measure

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "login", "Where SSH logins spend their time, of fettle measure login.", loginReport{})
	schematest.Published(t, "login-server", "Experiments on the server, of fettle measure login --server-side.", serverSide{})
	schematest.Published(t, "counters", "Rates of interface counters, of fettle measure counters.", countersJSON{})
}
