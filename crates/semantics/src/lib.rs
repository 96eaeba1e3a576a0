//! RFC 9111 and friends as pure functions of request, response, policy and time.
