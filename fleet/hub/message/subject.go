package message

import (
	"strings"

	"github.com/nats-io/nkeys"
)

// Subjects of NATS. An agent publishes below From(agent, key) only, and
// subscribes to ToAll and below To(agent) only.
const (
	prefix  = "fettle.v1."
	AllFrom = prefix + "agent.>"
	ToAll   = prefix + "ask"
	// Join is where hosts ask to be admitted, with a reply below JoinInbox.
	Join      = prefix + "join"
	JoinInbox = "_INBOX_join"
)

// From is where an agent publishes: its name, and the NKey with which it logged
// in, so that messages of a revoked key are known. The kind of the message
// follows.
func From(agent, key string) string { return prefix + "agent." + agent + "." + key }

// To is where an agent is spoken to, by "ask", "ack" or "pack".
func To(agent, what string) string { return prefix + "to." + agent + "." + what }

// Sender takes the agent, its key and the kind of message from a subject.
func Sender(subject string) (agent, key string, kind Kind, ok bool) {
	rest, ok := strings.CutPrefix(subject, prefix+"agent.")
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 || !IsID(parts[0]) || !nkeys.IsValidPublicUserKey(parts[1]) {
		return "", "", "", false
	}
	return parts[0], parts[1], Kind(parts[2]), true
}

// Headers of an agent's messages.
const (
	// HeaderAge is how long ago the message was made, in milliseconds, by the
	// host's monotonic clock where it can.
	HeaderAge = "Fettle-Age"
	// HeaderClock is the host's clock as the message leaves, in milliseconds
	// since 1970.
	HeaderClock = "Fettle-Clock"
	// HeaderPrev is the number of the message before this one that the hub has
	// or is to have; 0 if it need not have any.
	HeaderPrev = "Fettle-Prev"
)
