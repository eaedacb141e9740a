// Vectors of 8 lanes in the notation of GCC and Clang: one source for every processor. What compilers spell badly has
// a table for AVX2; elsewhere the plain form below it is used. No intrinsics header: it takes longer to read than
// all kernels take to compile.
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define VL 8
typedef float vf __attribute__((vector_size(VL * 4), may_alias));
typedef float vf_memory __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(VL * 4), may_alias));
typedef int32_t vi_memory __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef uint32_t vu __attribute__((vector_size(VL * 4), may_alias));
typedef uint64_t vul __attribute__((vector_size(VL * 8), may_alias));
typedef int64_t vl __attribute__((vector_size(VL * 8), may_alias));
typedef int64_t vl_memory __attribute__((vector_size(VL * 8), aligned(8), may_alias));
typedef uint16_t vh __attribute__((vector_size(VL * 2), may_alias));
typedef uint16_t vh_memory __attribute__((vector_size(VL * 2), aligned(2), may_alias));
typedef uint8_t vb __attribute__((vector_size(VL), may_alias));
typedef uint8_t vb_memory __attribute__((vector_size(VL), aligned(1), may_alias));
#define VF(x) ((vf){(x), (x), (x), (x), (x), (x), (x), (x)})
#define VI(x) ((vi){(x), (x), (x), (x), (x), (x), (x), (x)})
#define VLONG(x) ((vl){(x), (x), (x), (x), (x), (x), (x), (x)})
#define LANE ((vi){0, 1, 2, 3, 4, 5, 6, 7})
#define INLINE static inline __attribute__((always_inline))
#define EACH_LANE for (int lane = 0; lane < VL; lane++)

// A bool is a mask in vectors: 0 or -1 in each lane.
INLINE vf vf_select(vi c, vf x, vf y) { return (vf)((c & (vi)x) | (~c & (vi)y)); }
INLINE vi vi_select(vi c, vi x, vi y) { return (c & x) | (~c & y); }
INLINE vf vf_from_vi(vi x) { return __builtin_convertvector(x, vf); }
INLINE vf vf_load(const float *p) { return *(const vf_memory *)p; }
INLINE vi vi_load(const int32_t *p) { return *(const vi_memory *)p; }
INLINE void vf_store(float *p, vf x) { *(vf_memory *)p = x; }
INLINE void vi_store(int32_t *p, vi x) { *(vi_memory *)p = x; }
INLINE vl vl_load(const int64_t *p) { return *(const vl_memory *)p; }
INLINE void vl_store(int64_t *p, vl x) { *(vl_memory *)p = x; }
INLINE vl vl_from_vi(vi x) { return __builtin_convertvector(x, vl); }
INLINE vi vi_from_mask(vl c) { return __builtin_convertvector(c, vi); }
INLINE vl vl_select(vi c, vl x, vl y) {
  vl wide = vl_from_vi(c);
  return (wide & x) | (~wide & y);
}

#if defined(__AVX2__)
typedef char v16_bytes __attribute__((vector_size(16)));
typedef long long v2_longs __attribute__((vector_size(16)));
typedef long long long_memory __attribute__((aligned(1), may_alias));
// The second operand is returned if one is NaN: a NaN in `y` stays by that, one in `x` by the selection.
INLINE vf vf_max(vf x, vf y) { return vf_select(x != x, x, __builtin_ia32_maxps256(x, y)); }
INLINE vf vf_clamp(vf low, vf high, vf x) { return __builtin_ia32_minps256(high, __builtin_ia32_maxps256(low, x)); }
INLINE vf vf_round(vf x) { return __builtin_ia32_roundps256(x, 8); }
INLINE vf vf_sqrt(vf x) { return __builtin_ia32_sqrtps256(x); }
INLINE vi vi_from_rounded(vf x) { return __builtin_ia32_cvtps2dq256(x); }
INLINE vf vf_load_if(const float *p, vi c) { return __builtin_ia32_maskloadps256((const vf *)p, c); }
INLINE vi vi_load_if(const int32_t *p, vi c) { return (vi)__builtin_ia32_maskloadps256((const vf *)p, c); }
INLINE void vf_store_if(float *p, vf x, vi c) { __builtin_ia32_maskstoreps256((vf *)p, c, x); }
INLINE void vi_store_if(int32_t *p, vi x, vi c) { __builtin_ia32_maskstoreps256((vf *)p, c, (vf)x); }
#if defined(__clang__)
// Clang has no builtin for what its conversion does well; that of GCC goes lane by lane.
INLINE vi vi_load_u8(const uint8_t *p) { return __builtin_convertvector(*(const vb_memory *)p, vi); }
INLINE vi vi_from_vh(vh x) { return __builtin_convertvector(x, vi); }
#else
typedef short v8_shorts __attribute__((vector_size(16)));
INLINE vi vi_load_u8(const uint8_t *p) {
  return (vi)__builtin_ia32_pmovzxbd256((v16_bytes)(v2_longs){*(const long_memory *)p, 0});
}
INLINE vi vi_from_vh(vh x) { return (vi)__builtin_ia32_pmovzxwd256((v8_shorts)x); }
#endif
#else
INLINE vi vi_load_u8(const uint8_t *p) { return __builtin_convertvector(*(const vb_memory *)p, vi); }
INLINE vi vi_from_vh(vh x) { return __builtin_convertvector(x, vi); }
INLINE vf vf_max(vf x, vf y) { return vf_select((x > y) | (x != x), x, y); }
INLINE vf vf_clamp(vf low, vf high, vf x) { return vf_select(x < low, low, vf_select(x > high, high, x)); }
// Adding 3 * 2^22 leaves no bits behind the point. Only for |x| < 2^22.
INLINE vf vf_round(vf x) { return (x + VF(12582912.0f)) - VF(12582912.0f); }
INLINE vf vf_sqrt(vf x) {
  vf r = x;
  EACH_LANE r[lane] = __builtin_sqrtf(x[lane]);
  return r;
}
INLINE vi vi_from_rounded(vf x) { return __builtin_convertvector(vf_select(x == x, x, VF(0.0f)), vi); }
INLINE vf vf_load_if(const float *p, vi c) {
  vf r = VF(0.0f);
  EACH_LANE if (c[lane]) r[lane] = p[lane];
  return r;
}
INLINE vi vi_load_if(const int32_t *p, vi c) {
  vi r = VI(0);
  EACH_LANE if (c[lane]) r[lane] = p[lane];
  return r;
}
INLINE void vf_store_if(float *p, vf x, vi c) { EACH_LANE if (c[lane]) p[lane] = x[lane]; }
INLINE void vi_store_if(int32_t *p, vi x, vi c) { EACH_LANE if (c[lane]) p[lane] = x[lane]; }
#endif

INLINE vi vi_load_bool(const uint8_t *p) { return vi_load_u8(p) != VI(0); }
INLINE vi vi_load_u8_if(const uint8_t *p, vi c) {
  vi r = VI(0);
  EACH_LANE if (c[lane]) r[lane] = p[lane];
  return r;
}
INLINE vi vi_load_bool_if(const uint8_t *p, vi c) { return vi_load_u8_if(p, c) != VI(0); }
INLINE void vi_store_u8(uint8_t *p, vi x) { *(vb_memory *)p = __builtin_convertvector(x, vb); }
INLINE void vi_store_u8_if(uint8_t *p, vi x, vi c) { EACH_LANE if (c[lane]) p[lane] = x[lane]; }
INLINE void vi_store_bool(uint8_t *p, vi x) { EACH_LANE p[lane] = x[lane] & 1; }
INLINE void vi_store_bool_if(uint8_t *p, vi x, vi c) { EACH_LANE if (c[lane]) p[lane] = x[lane] & 1; }
INLINE vi vi_max(vi x, vi y) { return vi_select(x > y, x, y); }
INLINE vl vl_load_if(const int64_t *p, vi c) {
  vl r = VLONG(0);
  EACH_LANE if (c[lane]) r[lane] = p[lane];
  return r;
}
INLINE void vl_store_if(int64_t *p, vl x, vi c) { EACH_LANE if (c[lane]) p[lane] = x[lane]; }
INLINE vl vl_max(vl x, vl y) {
  vl c = x > y;
  return (c & x) | (~c & y);
}

// Floats of 16 bits. Registers hold them as floats of 32 bits, which loads widen, and casts and stores round to the
// nearest, ties to even.
#if defined(__F16C__)
typedef short v8_half __attribute__((vector_size(16)));
INLINE vf vf_from_f16(vh x) { return __builtin_ia32_vcvtph2ps256((v8_half)x); }
INLINE vh f16_from_vf(vf x) { return (vh)__builtin_ia32_vcvtps2ph256(x, 0); }
#else
// The bits in the place of those of a float are a number 2^112 times too small, be it normal or not; what they say of
// infinities and NaN is put back.
INLINE vf vf_from_f16(vh x) {
  vi bits = vi_from_vh(x), magnitude = (bits & VI(0x7fff)) << 13;
  vi scaled = (vi)((vf)magnitude * VF(0x1p112f));
  vi special = (magnitude >= VI(0x0f800000)) & VI(0x7f800000);
  return (vf)(scaled | special | (bits & VI(0x8000)) << 16);
}
INLINE vh f16_from_vf(vf x) {
  vi bits = (vi)x & VI(0x7fffffff), sign = (vi)((vu)x >> 16) & VI(0x8000);
  // Adding half of the last bit that stays, or a little less, carries into it where that is nearer or even.
  vi normal = (bits - VI(112 << 23) + VI(0xfff) + ((bits >> 13) & VI(1))) >> 13;
  // 0.5 has its last bit where the smallest numbers of f16 have theirs: the sum is rounded there.
  vi small = (vi)((vf)bits + VF(0.5f)) - VI(0x3f000000);
  vi r = vi_select(bits < VI(0x38800000), small, normal);
  r = vi_select(bits >= VI(0x477ff000), VI(0x7c00), r);
  r = vi_select(bits > VI(0x7f800000), VI(0x7e00), r);
  return __builtin_convertvector(r | sign, vh);
}
#endif
INLINE vf vf_from_bf16(vh x) { return (vf)(vi_from_vh(x) << 16); }
// The nearest number with 16 bits of zeros behind it. NaN stays one.
INLINE vf vf_round_bf16(vf x) {
  vi bits = (vi)x, odd = (bits >> 16) & VI(1);
  vi rounded = (vi)((vu)bits + (vu)(VI(0x7fff) + odd));
  return (vf)(vi_select(x == x, rounded, bits | VI(0x400000)) & VI((int32_t)0xffff0000));
}
INLINE vh bf16_from_vf(vf x) { return __builtin_convertvector((vu)vf_round_bf16(x) >> 16, vh); }
INLINE vf vf_round_f16(vf x) { return vf_from_f16(f16_from_vf(x)); }
INLINE float f_from_f16(uint16_t x) { return vf_from_f16((vh){x})[0]; }
INLINE float f_from_bf16(uint16_t x) { return vf_from_bf16((vh){x})[0]; }
INLINE uint16_t f16_from_f(float x) { return f16_from_vf(VF(x))[0]; }
INLINE uint16_t bf16_from_f(float x) { return bf16_from_vf(VF(x))[0]; }
INLINE float f_round_f16(float x) { return vf_round_f16(VF(x))[0]; }
INLINE float f_round_bf16(float x) { return vf_round_bf16(VF(x))[0]; }
#define NARROW_MEMORY(type) \
  INLINE vf vf_load_##type(const uint16_t *p) { return vf_from_##type(*(const vh_memory *)p); } \
  INLINE void vf_store_##type(uint16_t *p, vf x) { *(vh_memory *)p = type##_from_vf(x); } \
  INLINE vf vf_load_##type##_if(const uint16_t *p, vi c) { \
    vh r = {0}; \
    EACH_LANE if (c[lane]) r[lane] = p[lane]; \
    return vf_from_##type(r); \
  } \
  INLINE void vf_store_##type##_if(uint16_t *p, vf x, vi c) { \
    vh r = type##_from_vf(x); \
    EACH_LANE if (c[lane]) p[lane] = r[lane]; \
  }
NARROW_MEMORY(f16)
NARROW_MEMORY(bf16)

// Scalars.
INLINE float f_max(float x, float y) { return x > y || x != x ? x : y; }
INLINE int32_t i_max(int32_t x, int32_t y) { return x > y ? x : y; }
INLINE int32_t i_from_f(float x) {
  return x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : x == x ? (int32_t)x : 0;
}
INLINE int64_t l_max(int64_t x, int64_t y) { return x > y ? x : y; }
INLINE int64_t l_from_f(float x) {
  return x >= 9223372036854775808.0f ? INT64_MAX : x < -9223372036854775808.0f ? INT64_MIN : x == x ? (int64_t)x : 0;
}
INLINE int32_t i_u8_from_f(float x) { return x >= 255.0f ? 255 : x > 0.0f ? (int32_t)x : 0; }
INLINE int32_t i_floor_div(int32_t x, int32_t y) {
  if (y == 0) return 0;
  if (y == -1) return (int32_t)(0u - (uint32_t)x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
INLINE int32_t i_mod(int32_t x, int32_t y) {
  if (y == 0 || y == -1) return 0;
  int32_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
INLINE int64_t l_floor_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return (int64_t)(0u - (uint64_t)x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
INLINE int64_t l_mod(int64_t x, int64_t y) {
  if (y == 0 || y == -1) return 0;
  int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
INLINE float f_mod(float x, float y) {
  float r = __builtin_fmodf(x, y);
  return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
// Sums of integers wrap.
INLINE int32_t i_add(int32_t x, int32_t y) { return (int32_t)((uint32_t)x + (uint32_t)y); }
INLINE int32_t i_sub(int32_t x, int32_t y) { return (int32_t)((uint32_t)x - (uint32_t)y); }
INLINE int32_t i_mul(int32_t x, int32_t y) { return (int32_t)((uint32_t)x * (uint32_t)y); }
INLINE int64_t l_add(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }
INLINE int64_t l_sub(int64_t x, int64_t y) { return (int64_t)((uint64_t)x - (uint64_t)y); }
INLINE int64_t l_mul(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }
INLINE vl vl_add(vl x, vl y) { return (vl)((vul)x + (vul)y); }
INLINE vl vl_sub(vl x, vl y) { return (vl)((vul)x - (vul)y); }
INLINE vl vl_mul(vl x, vl y) { return (vl)((vul)x * (vul)y); }
INLINE vi vi_add(vi x, vi y) { return (vi)((vu)x + (vu)y); }
INLINE vi vi_sub(vi x, vi y) { return (vi)((vu)x - (vu)y); }
INLINE vi vi_mul(vi x, vi y) { return (vi)((vu)x * (vu)y); }
INLINE vi vi_from_vf(vf x) {
  vi fits = (x >= VF(-2147483648.0f)) & (x < VF(2147483648.0f));
  vi r = __builtin_convertvector(vf_select(fits, x, VF(0.0f)), vi);
  return vi_select(x >= VF(2147483648.0f), VI(INT32_MAX), vi_select(x < VF(-2147483648.0f), VI(INT32_MIN), r));
}
INLINE vi vi_u8_from_vf(vf x) {
  vi r = vi_from_vf(x);
  return vi_select(r > VI(255), VI(255), r & (r > VI(0)));
}
INLINE vi vi_from_vl(vl x) { return __builtin_convertvector(x, vi); }
INLINE vf vf_from_vl(vl x) {
  vf r = VF(0.0f);
  EACH_LANE r[lane] = (float)x[lane];
  return r;
}
INLINE vl vl_from_vf(vf x) {
  vl r = VLONG(0);
  EACH_LANE r[lane] = l_from_f(x[lane]);
  return r;
}
INLINE vl vl_floor_div(vl x, vl y) {
  vl r = x;
  EACH_LANE r[lane] = l_floor_div(x[lane], y[lane]);
  return r;
}
INLINE vl vl_mod(vl x, vl y) {
  vl r = x;
  EACH_LANE r[lane] = l_mod(x[lane], y[lane]);
  return r;
}
INLINE vi vi_floor_div(vi x, vi y) {
  vi r = x;
  EACH_LANE r[lane] = i_floor_div(x[lane], y[lane]);
  return r;
}
INLINE vi vi_mod(vi x, vi y) {
  vi r = x;
  EACH_LANE r[lane] = i_mod(x[lane], y[lane]);
  return r;
}
INLINE vf vf_mod(vf x, vf y) {
  vf r = x;
  EACH_LANE r[lane] = f_mod(x[lane], y[lane]);
  return r;
}
INLINE vf vf_floor_div(vf x, vf y) {
  vf r = x;
  EACH_LANE r[lane] = __builtin_floorf(x[lane] / y[lane]);
  return r;
}

// All lanes to one value, halves first.
#define HALVES(x, f) \
  f(f(f(x[0], x[4]), f(x[2], x[6])), f(f(x[1], x[5]), f(x[3], x[7])))
INLINE float f_add(float x, float y) { return x + y; }
#if defined(__AVX2__)
typedef float v4 __attribute__((vector_size(16)));
INLINE float vf_sum(vf x) {
  v4 h = __builtin_ia32_vextractf128_ps256(x, 0) + __builtin_ia32_vextractf128_ps256(x, 1);
  h = h + (v4){h[2], h[3], h[2], h[3]};
  return h[0] + h[1];
}
#else
INLINE float vf_sum(vf x) { return HALVES(x, f_add); }
#endif
INLINE float vf_greatest(vf x) { return HALVES(x, f_max); }
INLINE int32_t vi_sum(vi x) { return HALVES(x, i_add); }
INLINE int32_t vi_greatest(vi x) { return HALVES(x, i_max); }
INLINE int64_t vl_sum(vl x) { return HALVES(x, l_add); }
INLINE int64_t vl_greatest(vl x) { return HALVES(x, l_max); }
INLINE int32_t vi_any(vi x) { return (x[0] | x[1] | x[2] | x[3] | x[4] | x[5] | x[6] | x[7]) != 0; }

// 2^x: round, polynomial, exponent by integer addition. Below -126 the result is 0; NaN stays.
INLINE vf vf_exp2(vf x) {
  vi low = x < VF(-126.0f);
  x = vf_clamp(VF(-126.0f), VF(128.0f), x);
  vf n = vf_round(x), r = x - n;
  vf p = EXP2_POLYNOMIAL(r);
  vi e = vi_from_rounded(n);
  return (vf)(~low & ((vi)p + (e << 23)));
}
INLINE float f_exp2(float x) { return vf_exp2(VF(x))[0]; }

// Exponent plus a polynomial of the mantissa in [sqrt(1/2), sqrt(2)].
INLINE vf vf_log2(vf x) {
  vi small = x < VF(1.17549435e-38f);
  vf scaled = vf_select(small, x * VF(8388608.0f), x);
  // Counts how far the bits lie above those of sqrt(1/2).
  vi above = (vi)scaled - VI(0x3f3504f3);
  vi e = above >> 23;
  vf m = (vf)((above & VI(0x007fffff)) + VI(0x3f3504f3));
  vf s = (m - VF(1.0f)) / (m + VF(1.0f)), t = s * s;
  vf r = vf_from_vi(e - (small & VI(23))) + (s * VF(LOG2_FIRST) + s * t * LOG2_REST_POLYNOMIAL(t));
  r = vf_select(x == VF(0.0f), VF(-__builtin_inff()), r);
  r = vf_select(x == VF(__builtin_inff()), x, r);
  return vf_select((x < VF(0.0f)) | (x != x), VF(__builtin_nanf("")), r);
}
INLINE float f_log2(float x) { return vf_log2(VF(x))[0]; }

// Reduced by the nearest multiple of pi; far from 0 and for infinities the library does it.
INLINE vf vf_sin(vf x) {
  vi far = ~((x > VF(-SIN_LIMIT)) & (x < VF(SIN_LIMIT)));
  vf near = vf_select(far, VF(0.0f), x);
  vf n = vf_round(near * VF(0.31830988618f));
  vf r = near - n * VF(PI_PART_0);
  r = r - n * VF(PI_PART_1);
  r = r - n * VF(PI_PART_2);
  r = r - n * VF(PI_PART_3);
  vf t = r * r;
  vi sign = vi_from_rounded(n) << 31;
  vf s = (vf)((vi)(r + r * t * SIN_REST_POLYNOMIAL(t)) ^ sign);
  if (vi_any(far)) EACH_LANE if (far[lane]) s[lane] = __builtin_sinf(x[lane]);
  return s;
}
INLINE float f_sin(float x) { return vf_sin(VF(x))[0]; }
