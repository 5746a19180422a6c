package means

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Turns is how many commits it takes until each part of what is too long for every run
// has had its turn.
const Turns = 10

// Turn is the number of the turn, from 0 to Turns-1.
func Turn(t testing.TB) int {
	t.Helper()
	return Commits(t) % Turns
}

// Commits is how many there are, or the number of the day where the history is not there.
func Commits(t testing.TB) int {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	if n, err := strconv.Atoi(git("rev-list", "--count", "HEAD")); err == nil && git("rev-parse", "--is-shallow-repository") == "false" {
		return n
	}
	return time.Now().YearDay()
}

// OnTurn leaves a test out of all runs but those of one turn, and make lab-long.
func OnTurn(t testing.TB, turn int, what string) {
	t.Helper()
	if now := Turn(t); now != turn && !long() {
		Left(t, "it "+what+", and is run at one commit in "+strconv.Itoa(Turns)+"; FETTLE_LONG=1 runs it")
	}
}
