/* SPDX-License-Identifier: Apache-2.0 */
/* Why a sandbox could not do what was asked of it. */

#pragma once

namespace tainting {

/* Thrown; the text is of static storage. The sandbox must be made anew. */
struct error {
    const char *why;
};

} // namespace tainting
