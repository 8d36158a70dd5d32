#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes certificates for tests in the folder $1: of an authority, good ones and bad ones.
set -eu
umask 077
mkdir -p "$1"
cd "$1"

# An authority: name.
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
    -keyout "$1.key" -out "$1.pem" 2>/dev/null
}

# A certificate: name, authority, purposes, days, alternative names.
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
    -keyout "$1.key" -out "$1.csr" 2>/dev/null
  printf 'extendedKeyUsage = %s\nsubjectAltName = %s\n%s' "$3" "$5" "${6:-}" >"$1.extensions"
  openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$4" -sha256 \
    -extfile "$1.extensions" -out "$1.pem" 2>/dev/null
}

both='serverAuth, clientAuth'
here='DNS:server.example, DNS:localhost, IP:127.0.0.1, IP:::1'
authority authority
authority other_authority
certificate server authority "$both" 2 "$here"
certificate system authority clientAuth 2 DNS:site.example
certificate foreign other_authority "$both" 2 "$here"
# It ends in the second in which it begins.
certificate expired authority "$both" 0 "$here"
certificate between authority "$both" 2 "$here" 'basicConstraints = critical, CA:TRUE'
certificate below between "$both" 2 "$here"
cat below.pem between.pem >chain.pem
openssl pkey -in server.key -aes256 -passout pass:secret -out locked.key
# RSA, as old authorities have it.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=rsa -addext "subjectAltName = $here" \
  -keyout rsa.key -out rsa.pem 2>/dev/null
openssl req -x509 -newkey rsa:1024 -nodes -days 2 -subj /CN=weak -keyout weak.key -out weak.pem 2>/dev/null
