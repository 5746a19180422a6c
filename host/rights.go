package host

import (
	"context"
	"strconv"
)

type rightsKey struct{}

// As returns a context in which files are read with the rights of a user: of
// names that are in a user's own file, such as an Include of ~/.ssh/config.
// Paths through a user's folders and links are read so without being told.
func As(ctx context.Context, uid uint32) context.Context {
	return context.WithValue(ctx, rightsKey{}, uid)
}

// ReadsAs is whose rights As asked for; false: the rights of fettle itself.
func ReadsAs(ctx context.Context) (uid uint32, ok bool) {
	uid, ok = ctx.Value(rightsKey{}).(uint32)
	return uid, ok && uid != 0
}

// asked is a question's key in the cache: what one user may read says nothing
// of another.
func asked(ctx context.Context, question string) string {
	if uid, ok := ReadsAs(ctx); ok {
		return "as " + strconv.FormatUint(uint64(uid), 10) + ":" + question
	}
	return question
}
