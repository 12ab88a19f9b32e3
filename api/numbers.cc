// Number text to double and back by std::from_chars and std::to_chars, the only exact and fast
// pair in the standard libraries. No C++ type or exception leaves this file.
#include "numbers.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

// 10^0 to 10^22 are doubles exactly. Source: W. D. Clinger, How to read floating point numbers
// accurately, 1990: a product or quotient of two exact doubles is rounded once.
constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int max_exact_power = 22;
constexpr std::uint64_t max_exact_integer = std::uint64_t{1} << 53;
constexpr int max_digits = 19; // of a number that cannot overflow 64 bits

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

struct Token {
    const char *end;
    std::uint64_t digits; // all digits as one integer, when digit_count <= max_digits
    int digit_count;
    int exponent; // of ten, to be applied to digits
};

const char *scan_digits(const char *at, const char *end, Token &token) {
    const char *start = at;
    while (at < end && is_digit(*at)) {
        token.digits = token.digits * 10 + static_cast<std::uint64_t>(*at - '0');
        ++at;
    }
    const auto count = at - start;
    token.digit_count += count > max_digits ? max_digits + 1 : static_cast<int>(count);
    return at;
}

const char *scan_exponent(const char *at, const char *end, Token &token) {
    ++at;
    bool negative = false;
    if (at < end && (*at == '+' || *at == '-')) {
        negative = *at == '-';
        ++at;
    }
    const char *start = at;
    int exponent = 0;
    while (at < end && is_digit(*at)) {
        if (exponent < 100000) {
            exponent = exponent * 10 + (*at - '0');
        }
        ++at;
    }
    token.exponent += negative ? -exponent : exponent;
    return at == start ? nullptr : at;
}

// The grammar: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool scan_number(const char *at, const char *end, Token &token) {
    token = Token{nullptr, 0, 0, 0};
    if (at < end && *at == '-') {
        ++at;
    }
    if (at == end || !is_digit(*at)) {
        return false;
    }
    const char *integer = at;
    at = scan_digits(at, end, token);
    if (*integer == '0' && at - integer > 1) {
        return false;
    }
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = scan_digits(fraction, end, token);
        if (at == fraction) {
            return false;
        }
        token.exponent = at - fraction > max_digits ? 0 : -static_cast<int>(at - fraction);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at = scan_exponent(at, end, token);
    }
    token.end = at;
    return at != nullptr;
}

bool read_exact(const Token &token, bool negative, double &value) {
    if (token.digit_count > max_digits || token.digits > max_exact_integer ||
        token.exponent > max_exact_power || token.exponent < -max_exact_power) {
        return false;
    }
    const double integer = static_cast<double>(token.digits);
    const double magnitude = token.exponent < 0 ? integer / powers_of_ten[-token.exponent]
                                                : integer * powers_of_ten[token.exponent];
    value = negative ? -magnitude : magnitude;
    return true;
}

// from_chars says "out of range" both for too large and for too small; strtod tells them apart.
// A token is ended for strtod by the byte behind it, which is neither digit nor part of a number;
// one that touches the end of the text is copied, if it is of a sane length.
bool read_out_of_range(const char *at, const char *number_end, const char *end, double &value) {
    char copy[256] = {};
    if (number_end == end) {
        const auto size = static_cast<std::size_t>(number_end - at);
        if (size >= sizeof copy) {
            return false;
        }
        std::memcpy(copy, at, size);
        at = copy;
    }
    value = std::strtod(at, nullptr);
    return std::isfinite(value);
}

template <typename Real> char *write_shortest(char *out, Real value) {
    if (value == 0) {
        const char *text = std::signbit(value) ? "-0.0" : "0";
        while (*text != '\0') {
            *out++ = *text++;
        }
        return out;
    }
    // Integers as people write them: 100000, where the shortest text would be 1e+05.
    if (value > Real{-1e9} && value < Real{1e9}) {
        const auto integer = static_cast<std::int32_t>(value);
        if (static_cast<Real>(integer) == value) {
            return std::to_chars(out, out + API_NUMBER_SIZE, integer).ptr;
        }
    }
    return std::to_chars(out, out + API_NUMBER_SIZE, value).ptr;
}

} // namespace

const char *api_number_read(const char *at, const char *end, double *value) {
    Token token;
    if (!scan_number(at, end, token)) {
        return nullptr;
    }
    if (read_exact(token, *at == '-', *value)) {
        return token.end;
    }
    const auto result = std::from_chars(at, token.end, *value);
    if (result.ec == std::errc::result_out_of_range &&
        !read_out_of_range(at, token.end, end, *value)) {
        return nullptr;
    }
    return token.end;
}

char *api_number_write_f64(char *out, double value) {
    return write_shortest(out, value);
}

char *api_number_write_f32(char *out, float value) {
    return write_shortest(out, value);
}
