package confine

var legacyCalls []call
